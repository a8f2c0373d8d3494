"""The pages in a real Chromium, at a desk and on a phone. Every test also fails by any call to another host, any error
in the console, a breach of the page's content policy among them, and any dialog (see `page`)."""

import re
import time

from playwright.sync_api import expect

LONG = "Maximiliane-Wilhelmine" * 8
NASTY = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "Robert'); DROP TABLE learner;--",
    "<svg onload=alert(1)> & </title><script>alert(2)</script>",
)


def sign_in(page, service, role):
    page.goto(f"{service.url}/")
    page.get_by_label("Key", exact=True).fill(service.keys[role])
    with page.expect_navigation():
        page.keyboard.press("Enter")


def fits(page):
    """No page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def standing_of(page, concept):
    return page.locator(f'#standing [data-concept="{concept}"]')


def taught(service, name, answers, **labels):
    """A learner who gave some answers."""
    learner = service.api.learner(name, **labels)
    for correct in answers:
        service.api.answer(service.api.next(learner)["id"], correct)
    return learner


# ---- what is seen


def test_every_page_fits_and_is_a_page(page, open_service):
    learner = taught(open_service, LONG, [True, False], group=LONG[:60])
    decision = open_service.api.next(learner)["id"]
    addresses = {
        "learners": "Learners",
        f"learners/{learner}": LONG,
        "decisions": "Decisions",
        f"decisions/{decision}": "",
        "monitor": "Monitor",
    }
    for address, title in addresses.items():
        page.goto(f"{open_service.url}/pages/{address}")
        expect(page.locator("h1")).to_contain_text(title)
        expect(page.locator("main")).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert fits(page), address
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea")]
                .filter((one) => !one.textContent.trim() && !one.labels?.length && !one.getAttribute("aria-label"))
                .map((one) => one.outerHTML)"""
        )
        assert unnamed == [], address


def test_names_labels_and_reasons_do_nothing_but_stand_there(page, open_service):
    for nasty in NASTY:
        taught(open_service, nasty, [True], **{nasty[:60]: nasty[:60]})
        page.goto(f"{open_service.url}/pages/learners")
        page.get_by_role("searchbox").fill(nasty)
        expect(page.locator(".roll li")).to_have_count(1)
        page.get_by_role("link", name=nasty, exact=True).click()
        expect(page.get_by_role("heading", name=nasty, exact=True)).to_be_visible()
        page.locator("#graph[data-drawn]").wait_for()
        page.get_by_label("Concept", exact=True).select_option("v0")
        page.get_by_label("Reason").fill(nasty)
        page.get_by_label("Your name").fill(nasty)
        page.get_by_role("button", name="Set this activity").click()
        expect(page.locator("#now q")).to_have_text(nasty)
    page.goto(f"{open_service.url}/pages/decisions")
    for nasty in NASTY:
        expect(page.get_by_role("link", name=nasty, exact=True).first).to_be_visible()
    page.locator("#stream a.concept").first.click()
    expect(page.get_by_role("link", name=nasty, exact=True)).to_be_visible()
    page.goto(f"{open_service.url}/pages/monitor")
    page.locator("#curves[data-drawn]").wait_for()
    for nasty in NASTY:
        expect(page.get_by_role("heading", name=f"By {nasty[:60]}", exact=True)).to_be_visible()
    assert page.locator("img").count() == 0


def test_the_graph_shows_what_the_list_says_and_moves_with_it(page, open_service):
    learner = open_service.api.learner(f"graph {page.viewport_size['width']}")
    page.goto(f"{open_service.url}/pages/learners/{learner}")
    page.locator('#graph[data-drawn="6"]').wait_for()
    drawn = "() => [...document.querySelectorAll('#graph canvas')].map((one) => one.toDataURL()).join()"
    before = page.evaluate(drawn)
    expect(standing_of(page, "v3")).to_contain_text(re.compile(r"locked\s+waits for v0 \(20.%\), v1 \(20.%\)"))
    page.get_by_role("button", name="v3", exact=True).click()
    expect(page.locator("#about")).to_contain_text("Locked, since it waits for v0")
    page.wait_for_function(f"(before) => ({drawn})() !== before", arg=before)  # it is painted with the next frame
    decision = open_service.api.next(learner)
    expect(page.locator("#now .big")).to_contain_text(decision["concept"])
    after = open_service.api.answer(decision["id"])["after"]
    expect(standing_of(page, decision["concept"])).to_have_attribute("data-mastery", str(after))
    expect(page.locator("#now")).to_contain_text("between two activities")
    # what was chosen stays chosen
    expect(page.get_by_role("button", name="v3", exact=True)).to_have_attribute("aria-pressed", "true")
    assert fits(page)


def test_the_graph_can_be_made_larger_and_a_node_chosen(page, open_service):
    learner = open_service.api.learner(f"zoom {page.viewport_size['width']}")
    page.goto(f"{open_service.url}/pages/learners/{learner}")
    graph = page.locator("#graph")
    page.locator("#graph[data-drawn]").wait_for()
    for name in ("Larger", "Smaller", "All"):
        page.get_by_role("button", name=name, exact=True).click()
    graph.scroll_into_view_if_needed()
    box = graph.bounding_box()
    for down in range(8, 400, 12):  # some node lies on the way down the middle
        graph.click(position={"x": box["width"] / 2, "y": min(down, box["height"] - 4)})
        if page.locator(".pick[aria-pressed=true]").count():
            break
    expect(page.locator(".pick[aria-pressed=true]")).to_have_count(1)


def test_a_curriculum_of_hundreds_is_found_folded_and_shown_in_part(page, many_service):
    learner = many_service.api.learner(f"many {page.viewport_size['width']}")
    page.goto(f"{many_service.url}/pages/learners/{learner}")
    graph = page.locator('#graph[data-drawn="300"]')
    graph.wait_for()
    assert int(graph.get_attribute("data-shown")) < 30
    ready = many_service.api.client.get(f"/v1/learners/{learner}/state").json()["concepts"]
    ready = [one["concept"] for one in ready if one["ready"]]
    expect(page.locator("#standing [data-concept]:visible")).to_have_count(len(ready))
    expect(page.get_by_label("Concept", exact=True).locator("option:not([hidden])")).to_have_count(1 + len(ready))
    page.get_by_label("Find a concept").fill("c299")
    expect(page.locator("#standing [data-concept]:visible")).to_have_count(1)
    expect(page.locator("#found")).to_have_text("1 of 300")
    page.keyboard.press("Enter")
    expect(page.locator("#about")).to_contain_text("c299: locked")
    assert int(graph.get_attribute("data-shown")) < 30
    many_service.api.next(learner)  # the list is sent anew, and stays as it was looked at
    expect(page.locator("#now .big")).to_be_visible()
    expect(page.locator("#standing [data-concept]:visible")).to_have_count(1)
    expect(page.get_by_role("button", name="c299", exact=True)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="All", exact=True).click()
    expect(graph).to_have_attribute("data-shown", "300")
    page.get_by_role("button", name="Near", exact=True).click()
    assert int(graph.get_attribute("data-shown")) < 30
    page.get_by_label("Find a concept").fill("no such thing")
    expect(page.get_by_text("No concept is called so.")).to_be_visible()
    page.get_by_label("Find a concept").fill("")
    expect(page.locator("#standing [data-concept]:visible")).to_have_count(len(ready))
    assert fits(page)


def test_the_stream_goes_on_by_itself_and_can_be_stopped(page, open_service):
    learner = open_service.api.learner(f"stream {page.viewport_size['width']}")
    first = open_service.api.next(learner)["id"]
    page.goto(f"{open_service.url}/pages/decisions")
    row = page.locator(f"#{first}")
    row.locator("summary").click()
    expect(row.locator("details")).to_contain_text("Chance")
    expect(row).to_contain_text("no answer yet")
    open_service.api.answer(first)
    second = open_service.api.next(learner)["id"]
    expect(page.locator(f"#{second}")).to_be_visible()
    expect(row).to_contain_text("✓ right")
    expect(row.locator("details")).to_have_attribute("open", "")
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(300)
    open_service.api.answer(second, correct=False)
    page.wait_for_timeout(2_600)
    expect(page.locator(f"#{second}")).to_contain_text("no answer yet")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(f"#{second}")).to_contain_text("✗ wrong")


def test_the_monitor_draws_curves_and_gives_an_alarm(page, open_service):
    for number in range(5):
        taught(open_service, f"left {number}", [True] * 8, side="left")
        taught(open_service, f"right {number}", [False] * 8, side="right")
    page.goto(f"{open_service.url}/pages/monitor")
    page.locator("#curves[data-drawn]").wait_for()
    assert page.locator("#curves canvas").count() == 4
    expect(page.get_by_role("alert").filter(has_text="side").first).to_be_visible()
    expect(page.locator(".measure").filter(has_text="left").locator(".tag.alarm").first).to_be_visible()
    assert page.locator(".measure svg.interval").count() >= 6
    page.get_by_role("link", name="Last day").click()
    page.locator("#curves[data-drawn]").wait_for()
    expect(page.get_by_role("link", name="Last day")).to_have_attribute("aria-current", "true")
    assert fits(page)


# ---- who may do what


def test_a_teacher_signs_in_and_chooses_by_keyboard_alone(page, keyed_service):
    learner = keyed_service.api.learner(f"keyboard {page.viewport_size['width']}")
    page.goto(f"{keyed_service.url}/pages/learners/{learner}")
    expect(page.get_by_label("Key", exact=True)).to_be_focused()
    page.keyboard.type(keyed_service.keys["teacher"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/pages/learners/{learner}")
    page.locator("#graph[data-drawn]").wait_for()
    assert page.evaluate("document.cookie") == ""
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    _tab_to(page, page.get_by_label("Concept", exact=True))
    page.keyboard.type("v1")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("she asked for it")
    page.keyboard.press("Tab")
    page.keyboard.type("Ms Li")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="on record")).to_be_visible()
    expect(page.locator("#now")).to_contain_text("she asked for it")
    (decision,) = keyed_service.api.decisions(learner)
    assert (decision["by"], decision["concept"], decision["reason"]) == ("teacher", "v1", "she asked for it")
    _tab_to(page, page.get_by_role("button", name="v3", exact=True))
    page.keyboard.press("Enter")
    expect(page.locator("#about")).to_contain_text("Locked, since it waits for v0")
    page.keyboard.press("Enter")
    _tab_to(page, page.get_by_role("button", name="v0", exact=True), back=True)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Choose it for the next activity").press("Enter")
    expect(page.get_by_label("Reason")).to_be_focused()
    expect(page.get_by_label("Concept", exact=True)).to_have_value("v0")


def _tab_to(page, target, back=False):
    for _ in range(60):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if target.evaluate("(one) => one === document.activeElement"):
            return
    raise AssertionError("the keyboard does not reach it")


def test_a_choice_needs_a_reason(page, keyed_service):
    learner = keyed_service.api.learner(f"reason {page.viewport_size['width']}")
    sign_in(page, keyed_service, "teacher")
    page.goto(f"{keyed_service.url}/pages/learners/{learner}")
    page.get_by_label("Concept", exact=True).select_option("v0")
    page.get_by_label("Your name").fill("Ms Li")
    page.get_by_role("button", name="Set this activity").click()  # the browser itself asks for it
    expect(page.get_by_label("Reason")).to_be_focused()
    assert keyed_service.api.decisions(learner) == []
    page.expected.append("422")
    page.evaluate("document.getElementById('override-form').noValidate = true")
    page.get_by_role("button", name="Set this activity").click()
    expect(page.get_by_text("Say why: the reason goes on record.")).to_be_visible()
    expect(page.get_by_label("Your name")).to_have_value("Ms Li")
    assert keyed_service.api.decisions(learner) == []


def test_an_auditor_reads_a_program_sees_nothing_and_who_leaves_is_out(page, keyed_service):
    learner = keyed_service.api.learner(f"audited {page.viewport_size['width']}")
    page.expected += ["403", "401"]
    sign_in(page, keyed_service, "client")
    expect(page.get_by_role("alert")).to_contain_text("opens no page")
    page.get_by_label("Key", exact=True).fill("mccpo_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known")
    sign_in(page, keyed_service, "auditor")
    expect(page.get_by_role("heading", name="Learners")).to_be_visible()
    page.goto(f"{keyed_service.url}/pages/learners/{learner}")
    page.locator("#graph[data-drawn]").wait_for()
    assert page.locator("#override").count() == 0
    page.goto(f"{keyed_service.url}/pages/decisions")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{keyed_service.url}/pages/monitor")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert fits(page)


def test_a_page_left_open_goes_to_the_door_when_the_visit_is_over(page, keyed_service):
    page.expected.append("401")
    sign_in(page, keyed_service, "auditor")
    page.goto(f"{keyed_service.url}/pages/decisions")
    page.context.clear_cookies()
    began = time.monotonic()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible(timeout=10_000)
    assert time.monotonic() - began < 10
