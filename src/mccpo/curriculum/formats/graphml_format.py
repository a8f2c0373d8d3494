"""Prerequisite graphs as GraphML: an edge runs from the prerequisite to the concept that needs it.

A node is named by its `name` or `label` attribute, by the label that yEd draws, or else by its id; a `demand`
attribute gives its demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from mccpo.curriculum.formats.fields import concept_demand, concept_name
from mccpo.curriculum.formats.raw import RawConcept, RawGraph
from mccpo.curriculum.formats.registry import register_format
from mccpo.errors import InputError

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


def parse_graphml(content: bytes, source: str) -> RawGraph:
    """Reads a graph from GraphML."""
    root = _root(content, source)
    if _tag(root) != "graphml":
        raise InputError(f"{source} is XML, but its root is <{_tag(root)}>", fix="give a GraphML file")
    for graph in _all(root, "graph"):
        if graph.get("edgedefault") == "undirected":
            raise InputError(
                f"{source} is an undirected graph", fix="give a graph whose edges run from prerequisite to concept"
            )
    keys = {key.get("id", ""): key.get("attr.name", "").lower() for key in _all(root, "key")}
    nodes: dict[str, tuple[str, float | None]] = {}
    for node in _all(root, "node"):
        identity = node.get("id", "")
        if not identity or identity in nodes:
            raise InputError(f"{source} has two nodes, or an unnamed one, with the id {identity!r}", fix="number them")
        nodes[identity] = _name_and_demand(node, identity, keys, f"{source} node {identity}")
    needs: dict[str, list[str]] = {identity: [] for identity in nodes}
    for edge in _all(root, "edge"):
        start, end = edge.get("source", ""), edge.get("target", "")
        if end not in nodes:
            raise InputError(f"{source} has an edge to {end!r}, which is not a node", fix="add it or drop the edge")
        needs[end].append(nodes[start][0] if start in nodes else start)
    rows = (RawConcept(name, tuple(needs[identity]), demand) for identity, (name, demand) in nodes.items())
    return RawGraph(tuple(rows), source)


def render_graphml(raw: RawGraph) -> str:
    """Writes a graph as GraphML, each concept a node with its name and demand."""
    identity = {name: f"n{number}" for number, name in enumerate(dict.fromkeys(raw.names))}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<graphml xmlns="{_NAMESPACE}">',
        '  <key id="name" for="node" attr.name="name" attr.type="string"/>',
        '  <key id="demand" for="node" attr.name="demand" attr.type="double"/>',
        '  <graph edgedefault="directed">',
    ]
    for row in raw.rows:
        demand = "" if row.demand is None else f'<data key="demand">{row.demand!r}</data>'
        lines.append(f'    <node id="{identity[row.name]}"><data key="name">{escape(row.name)}</data>{demand}</node>')
    for prerequisite, concept in raw.edges:
        lines.append(f"    <edge source={quoteattr(identity[prerequisite])} target={quoteattr(identity[concept])}/>")
    return "\n".join((*lines, "  </graph>", "</graphml>", ""))


class _WithoutDoctype(ElementTree.TreeBuilder):
    """Builds the tree, refusing the declarations through which a small file can unfold into a huge one."""

    def doctype(self, *_: str | None) -> None:
        raise InputError("the file declares a document type", fix="remove the <!DOCTYPE ...> declaration")


def _root(content: bytes, source: str) -> ElementTree.Element:
    parser = ElementTree.XMLParser(target=_WithoutDoctype())
    try:
        parser.feed(content)
        root: ElementTree.Element = parser.close()
    except ElementTree.ParseError as error:
        raise InputError(
            f"{source} line {error.position[0]} is not XML ({error})", fix="correct it or fetch the file again"
        ) from error
    except InputError as error:
        raise InputError(f"{source}: {error.what}", fix=error.fix) from None
    except (LookupError, ValueError) as error:
        raise InputError(f"{source} has an encoding that is not known ({error})", fix="save it as UTF-8") from error
    return root


def _name_and_demand(
    node: ElementTree.Element, identity: str, keys: dict[str, str], where: str
) -> tuple[str, float | None]:
    attributes: dict[str, str] = {}
    for data in node:
        if _tag(data) == "data":
            attributes[keys.get(data.get("key", ""), "")] = data.text or ""
    drawn = next((label.text or "" for label in _all(node, "NodeLabel")), "")
    candidates = (attributes.get("name"), attributes.get("label"), drawn.strip(), identity)
    name = next(candidate for candidate in candidates if candidate)
    return concept_name(name, where), concept_demand(attributes.get("demand"), where)


def _all(element: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    return (child for child in element.iter() if _tag(child) == tag)


def _tag(element: ElementTree.Element) -> str:
    return str(element.tag).rpartition("}")[2]


register_format("graphml", parse_graphml, render_graphml)
