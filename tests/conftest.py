"""How the tests are shared out between processes (`-n auto --dist loadgroup`)."""

from pathlib import Path

import pytest

BROWSER = Path(__file__).parent / "browser"


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files in a browser go first, one after the other in one process, the others a file at a time in the rest.

    Two browsers, each with a server, are slower on two cores than one, and clicks that are meant to be fast are not.
    """
    items.sort(key=lambda item: BROWSER not in item.path.parents)
    for item in items:
        group = BROWSER.name if BROWSER in item.path.parents else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))
