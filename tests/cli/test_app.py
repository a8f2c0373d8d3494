"""How a call ends, where settings come from, and what the shared helpers do."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from cyclopts import App, CoercionError, Parameter
from cyclopts.config import Dict

from mccpo._version import __version__
from mccpo.cli import main
from mccpo.cli.app import COMMANDS, build_app
from mccpo.cli.console.interrupt import interrupted
from mccpo.cli.console.output import WholeNumber, dump_json, literal, number, parse_pairs
from mccpo.errors import InputError, MccpoError

SHOW = ["curriculum", "show", "graph.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in os.environ:
        if variable.startswith("MCCPO_"):
            monkeypatch.delenv(variable)
    Path("graph.json").write_text('{"concepts": [{"name": "a"}, {"name": "b", "prerequisites": ["a"]}]}')
    return tmp_path


def refusal(capsys, *tokens):
    """The one line that a wrong call prints, having printed no result."""
    assert main(tokens) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("mccpo: ")
    assert output.err.count("\n") == 1
    return output.err


def printed_theta(capsys, *tokens):
    assert main([*SHOW, "--print-config", "--json", *tokens]) == 0
    return json.loads(capsys.readouterr().out)["theta"]


@pytest.mark.parametrize("tokens", [["--help"], ["--version"], ["curriculum", "--help"]])
def test_help_is_quick_because_nothing_heavy_is_loaded(tokens):
    heavy = "{'jax', 'polars', 'matplotlib', 'scipy', 'rustworkx'}"
    code = f"import sys; from mccpo.cli import main; main(); print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    answer = subprocess.run([sys.executable, "-c", code, *tokens], capture_output=True, text=True, check=True)
    assert answer.stderr.strip() == "[]"
    assert __version__ in answer.stdout or "Usage: mccpo" in answer.stdout


def test_the_help_lists_every_command_without_loading_it(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown and purpose.split(",")[0] in shown for name, (_, purpose) in COMMANDS.items())


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["curiculum"], "did you mean 'curriculum'?"),
        (["curriculum", "chek"], "did you mean 'check'?"),
        (["qqqqqq"], "the commands are tutor, recalibrate, compare, "),
        ([*SHOW, "--thet", "0.5"], "Did you mean --theta?"),
        ([*SHOW, "--theta", "high"], "--theta"),
        (["curriculum", "show"], "FILE"),
        ([*SHOW, "--config", "none.toml"], "cannot read none.toml"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(capsys, tokens, message):
    assert message in refusal(capsys, *tokens)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MccpoError("it\nbroke"), 1, "mccpo: it broke\n"),
        (InputError("x is wrong", fix="mend it"), 2, "mccpo: x is wrong; mend it\n"),
        (KeyboardInterrupt(), 130, "mccpo: stopped\n"),
        (
            ZeroDivisionError("oh"),
            1,
            "mccpo: internal error: ZeroDivisionError: oh (run with --debug for the traceback)\n",
        ),
    ],
)
def test_every_ending_has_its_code_and_one_line(capsys, monkeypatch, error, code, message):
    def fail(*_):
        raise error

    monkeypatch.setattr("mccpo.curriculum.Curriculum.read", fail)
    assert main(SHOW) == code
    assert capsys.readouterr().err == message
    assert main([*SHOW, "--debug"]) == code
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_not_an_error():
    rows = "".join(f"c{index},c{index + 1}\n" for index in range(500))
    Path("long.csv").write_text("prerequisite,concept\n" + rows)
    code = "import sys; from mccpo.cli import main; sys.exit(main())"
    tokens = [sys.executable, "-c", code, "curriculum", "show", "long.csv", "--mastery", "c0=0.1", "--json"]
    with subprocess.Popen(tokens, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


CALL = "import sys; from mccpo.cli import main; sys.exit(main())"


def shell(redirection, *tokens):
    """Runs `mccpo` with its streams as a shell redirects them."""
    command = f'"$0" -c "$1" "${{@:2}}" {redirection}'
    call = ["bash", "-c", command, sys.executable, CALL, *tokens]
    return subprocess.run(call, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("tokens", [["--help"], SHOW, [*SHOW, "--json"], [*SHOW, "--print-config"]])
def test_output_that_cannot_be_written_is_one_line_and_exit_1(tokens):
    answer = shell("> /dev/full", *tokens)
    assert (answer.returncode, answer.stderr) == (1, "mccpo: cannot write: No space left on device\n")


def test_closed_streams_are_not_an_internal_error():
    answer = shell(">&-", *SHOW)
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "stdout is closed" in answer.stderr
    answer = shell("2>&-", *SHOW)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "wrote graph.svg" in answer.stdout
    assert shell("2>&-", "curriculum", "show", "none.json").returncode == 2


@pytest.mark.parametrize("tokens", [["--help"], ["curriculum", "--help"], ["--version"]])
def test_help_for_a_reader_that_goes_away_is_not_an_error(tokens):
    with subprocess.Popen(
        [sys.executable, "-c", CALL, *tokens], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def press_ctrl_c(dropped):
    """Presses Ctrl-C, in a callback of the garbage collector, which drops the exception, or in plain code."""
    if not dropped:
        signal.raise_signal(signal.SIGINT)

    def callback(phase, _):
        if phase == "start":
            signal.raise_signal(signal.SIGINT)

    gc.callbacks.append(callback)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(callback)


def test_a_dropped_ctrl_c_is_remembered_and_a_second_one_acts_at_once(capsys, monkeypatch):
    seen = []

    def work(*_):
        seen.append(interrupted())
        press_ctrl_c(dropped=True)
        seen.append(interrupted())
        press_ctrl_c(dropped=False)
        seen.append("went on")

    monkeypatch.setattr("mccpo.curriculum.Curriculum.read", work)
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    for _ in range(2):  # the second call does not remember the first
        seen.clear()
        assert main(SHOW) == 130
        assert seen == [False, True]
        assert capsys.readouterr().err == "mccpo: stopped\n"
        assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before


def test_ctrl_c_waits_for_no_thread():
    """What compiles or trains in a thread cannot be stopped, and crashes where the interpreter goes before it."""
    code = """
import sys, threading
from mccpo.cli import main, settings

def stop(*_):
    print("so far")
    threading.Thread(target=threading.Event().wait).start()
    raise KeyboardInterrupt

settings.show = stop
sys.exit(main())
"""
    call = [sys.executable, "-c", code, *SHOW, "--print-config"]
    answer = subprocess.run(call, capture_output=True, text=True, check=False, timeout=30)
    assert (answer.returncode, answer.stdout, answer.stderr) == (130, "so far\n", "mccpo: stopped\n")


def test_ctrl_c_stays_ignored_where_the_caller_ignores_it(capsys, monkeypatch):
    monkeypatch.setattr("mccpo.cli.settings.show", lambda *_: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert main([*SHOW, "--print-config"]) == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_outside_the_main_thread_signals_are_left_alone(capsys):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main([*SHOW, "--print-config"])))
    thread.start()
    thread.join()
    assert codes == [0]


@pytest.mark.parametrize("text", ["2.7", "2.0", "1e3", "many"])
def test_a_whole_number_is_not_rounded(text):
    def count(*, seeds: Annotated[WholeNumber, Parameter(help="x")] = 1, steps: WholeNumber | None = None):
        return seeds, steps

    app = App(result_action="return_value")
    app.default(count)
    how = {"print_error": False, "exit_on_error": False}
    assert app(["--seeds", "3", "--steps", "-4"], **how) == (3, -4)
    for flag in ("--seeds", "--steps"):
        with pytest.raises(CoercionError, match=f"{text!r} is not a whole number"):
            app([flag, text], **how)
    app.config = Dict({"steps": 3.5})
    with pytest.raises(CoercionError, match=r"'3.5' is not a whole number"):
        app([], **how)


def test_flags_go_before_variables_before_the_file_before_defaults(capsys, monkeypatch):
    assert printed_theta(capsys) == 0.7
    Path("mccpo.toml").write_text("theta = 0.1\n")
    assert printed_theta(capsys) == 0.1
    Path("mccpo.toml").write_text("theta = 0.1\n[curriculum.show]\ntheta = 0.2\n")
    assert printed_theta(capsys) == 0.2
    Path("other.toml").write_text("[curriculum.show]\ntheta = 0.25\n")
    assert printed_theta(capsys, "--config", "other.toml") == 0.25
    monkeypatch.setenv("MCCPO_THETA", "0.3")
    assert printed_theta(capsys) == 0.3
    monkeypatch.setenv("MCCPO_CURRICULUM_SHOW_THETA", "0.4")
    assert printed_theta(capsys) == 0.4
    assert printed_theta(capsys, "--theta", "0.5") == 0.5


def test_printed_settings_can_be_a_settings_file(capsys):
    assert main([*SHOW, "--theta", "0.6", "--print-config"]) == 0
    Path("mccpo.toml").write_text(capsys.readouterr().out)
    assert printed_theta(capsys) == 0.6
    assert not Path("graph.svg").exists()


@pytest.mark.parametrize(
    "content",
    [
        "[curriculum.show]\nthetta = 0.2",
        "[curiculum.show]\ntheta = 0.2",
        "[curriculum.shw]\n",
        "[curriculum]\nx = 1",
        "[curriculum]\nshow = 1",
        "[curriculum.check]\nreduc = true",
        "[compare]\nsedes = 3",
        "x =",
    ],
)
def test_a_file_with_an_unknown_key_is_refused(capsys, content):
    Path("mccpo.toml").write_text(content)
    assert "mccpo.toml" in refusal(capsys, *SHOW)


def test_unknown_variables_are_refused_and_the_data_folder_is_known(capsys, monkeypatch):
    monkeypatch.setenv("MCCPO_DATA", "somewhere")
    monkeypatch.setenv("MCCPO_CURRICULUM_CHECK_REDUCE", "true")
    assert printed_theta(capsys) == 0.7
    monkeypatch.setenv("MCCPO_CURRICULUM_SHOW_THETTA", "0.5")
    assert "MCCPO_CURRICULUM_SHOW_THETTA" in refusal(capsys, *SHOW)


@pytest.mark.parametrize("name", ["MCCPO_REPRODUCE_FOO", "MCCPO_CURRICULUM_CHECK_THETA", "MCCPO_CURRICULUM_X"])
def test_an_unknown_variable_of_another_command_is_refused(capsys, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert name in refusal(capsys, *SHOW)


def test_settings_of_other_commands_are_checked_without_loading_anything_heavy():
    Path("mccpo.toml").write_text("[compare]\nseeds = 3\nrequire-satisfied = true\n[curriculum.check]\nreduce = true\n")
    code = f"{CALL.replace('sys.exit(main())', 'main()')}; print('jax' in sys.modules, file=sys.stderr)"
    env = {**os.environ, "MCCPO_REPRODUCE_SEEDS": "2"}
    call = [sys.executable, "-c", code, *SHOW, "--print-config"]
    answer = subprocess.run(call, capture_output=True, text=True, check=True, env=env)
    assert answer.stderr == "False\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_takes_a_flag_that_belongs_to_all(name):
    command = build_app()[name]
    leaves = [command[leaf] for leaf in command if not leaf.startswith("-")]
    for leaf in leaves or [command]:
        flags = {flag for argument in leaf.assemble_argument_collection() for flag in argument.names}
        assert flags
        assert not flags & {"--config", "--debug", "--print-config", "--cache"}


def test_the_data_variable_sets_the_folder_of_tables_from_logs(capsys, monkeypatch):
    monkeypatch.setenv("MCCPO_DATA", "elsewhere")
    assert main(["reproduce", "junyi", "--print-config", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == "elsewhere"


def test_pairs_are_read_from_commas_and_repeats():
    assert parse_pairs(["c3=9.5,c4=2.45", "c2=1"], "--budget", number) == {"c3": 9.5, "c4": 2.45, "c2": 1.0}
    assert parse_pairs(["kappa=0.9,0.7,x=[1]"], "--set", literal) == {"kappa": "0.9,0.7", "x": [1]}
    assert parse_pairs(["a=true", "b=word", "c=3"], "--set", literal) == {"a": True, "b": "word", "c": 3}


@pytest.mark.parametrize(
    ("entry", "message"),
    [("c4", "write --budget NAME=VALUE"), ("=1", "NAME=VALUE"), ("c4=", "must be a number"), ("c4=nan", "finite"),
     ("c4=1,c4=2", "sets 'c4' twice")],
)  # fmt: skip
def test_a_wrong_pair_is_refused(entry, message):
    with pytest.raises(InputError, match=message):
        parse_pairs([entry], "--budget", number)


def test_json_is_strict():
    value = {
        "b": np.float32("nan"),
        "a": [np.inf, np.arange(2), np.True_],
        "path": Path("x"),
        "name": "圓",
        1: (None, 1.5),
    }
    text = dump_json(value)
    assert text == '{"b": null, "a": [null, [0, 1], true], "path": "x", "name": "圓", "1": [null, 1.5]}'
