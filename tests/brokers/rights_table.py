"""What each request needs, by its name and by those of its cases: the rows of all APIs in one table."""

from __future__ import annotations

from kipviz.messages.apis.catalogue import APIS
from kipviz.messages.apis.rights import Need

NEEDS: dict[str, tuple[Need, ...]] = {
    **{case.name: case.needs for api in APIS for case in api.cases},
    **{api.name: api.needs for api in APIS},
}
