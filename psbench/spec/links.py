"""What lies between the ranks of a run in virtual time: links as presets, as figures, as a file."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from psbench.spec.messages import conflict, show, unknown, wrong
from psbench.spec.names import LINK_PRESETS, LinkPreset
from psbench.spec.quantities import Delay, Rate
from psbench.spec.structure import Frozen


def expand_preset(value: Any) -> Any:
    """Return the map that the name of a preset stands for; anything else as it is."""
    return {"preset": value} if isinstance(value, str) else value


def _named(value: Any) -> Any:
    value = expand_preset(value)
    if isinstance(value, dict) and isinstance(value.get("preset"), str):
        if value["preset"] not in LINK_PRESETS:
            raise wrong(unknown("network", value["preset"], LINK_PRESETS))
        return value
    if not isinstance(value, dict | Frozen | None):
        names = ", ".join(LINK_PRESETS)
        raise wrong(f"expected a name ({names}) or a map, got {show(value)}")
    return value


def _path(value: str) -> str:
    if not value or "\0" in value:
        raise wrong(f"expected the path of a file, got {show(value)}")
    return value


class LinkFigures(Frozen):
    """The link between two ranks: a preset's or a file's, with the figures written beside it put
    over those, or all by figures."""

    preset: LinkPreset | None = None
    """a link known by name"""
    bandwidth: Rate | None = None
    """of a port and of a card, each way, such as 10 Gbit/s"""
    latency: Delay | None = None
    """of a message, once it has left; it occupies nothing"""
    overhead: Delay | None = None
    """of a message, at each side, where it occupies the port; null: the preset's, or none"""
    reduce_bandwidth: Rate | None = None
    """what a rank adds of what comes in, such as 10 GB/s; null: the preset's, or adding is free"""

    @model_validator(mode="after")
    def _whole(self) -> "LinkFigures":
        if self.preset is None and not self.is_from_file:
            for name in ("bandwidth", "latency"):
                if getattr(self, name) is None:
                    raise conflict("missing; write it, or a preset", at=name)
        return self

    @property
    def is_from_file(self) -> bool:
        """Whether the figures that are not written come from a file."""
        return False


InsideLink = Annotated[LinkFigures, BeforeValidator(_named)]


class Network(LinkFigures):
    """The network of a run in virtual time: the link between hosts, and what is shared."""

    file: Annotated[str, BeforeValidator(_path)] | None = None
    """what `psbench calibrate --out` wrote, relative to the working directory"""
    inside: InsideLink | None = None
    """the link between ranks of one host; null: as between hosts, but past the card"""
    hosts_per_group: Annotated[int, Field(ge=1, le=65_536)] | None = None
    """hosts behind one uplink, such as those of a rack; null: no uplinks"""
    oversubscription: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    """the rate of a group's hosts together over that of its uplink"""
    in_network_reduction: bool = False
    """switches add what ranks send, as SHARP does: the all-reduce of strategy native"""

    @property
    def is_from_file(self) -> bool:
        return self.file is not None

    @field_validator("file")
    @classmethod
    def _one_source(cls, file: str | None, info: ValidationInfo) -> str | None:
        if file is not None and info.data.get("preset") is not None:
            raise conflict("a preset is named as well; leave one of them out")
        return file

    @field_validator("oversubscription")
    @classmethod
    def _of_groups(cls, value: float, info: ValidationInfo) -> float:
        if value != 1.0 and info.data.get("hosts_per_group") is None:
            raise conflict("it is of the uplinks of groups; set hosts_per_group")
        return value


NetworkField = Annotated[Network, BeforeValidator(_named)]
