"""What keeps somebody from using a page: faults that axe-core finds, and what no key reaches. Shadow roots included."""

from playwright.sync_api import Page

COUNT = """() => {
  const count = (root) => [...root.querySelectorAll("*")].reduce(
    (sum, one) => sum + 1 + (one.shadowRoot ? count(one.shadowRoot) : 0), 0);
  return count(document);
}"""

# Whatever shows a hand or a cross under the pointer can be clicked. A key reaches it if it, or what holds it within its
# picture, takes the focus, or if the arrow keys move among its like, of which one is in the order of Tab. A number
# field's two small buttons are its arrow keys; Streamlit leaves them out of that order.
UNREACHABLE = """() => {
  const found = [];
  const takes = (one) => one.tabIndex >= 0 || one.tagName === "LABEL";
  const group = (one) => /^(group|radiogroup|listbox|tablist|toolbar)$/.test(one.getAttribute("role"));
  const walk = (root) => {
    for (const one of root.querySelectorAll("*")) {
      if (one.shadowRoot) walk(one.shadowRoot);
      const cursor = getComputedStyle(one).cursor, above = one.parentElement;
      if (!/pointer|crosshair|cell/.test(cursor) || !one.getClientRects().length || !one.checkVisibility()) continue;
      if (above && getComputedStyle(above).cursor === cursor) continue;
      if (one.matches("[data-testid^=stNumberInputStep], [disabled], [aria-disabled=true]")) continue;
      let reached = [...one.querySelectorAll("*")].some(takes);
      for (let at = one; at && !reached && !at.matches(".stMain"); at = at.parentElement)
        reached = takes(at) || (group(at) && [...at.querySelectorAll("*")].some(takes));
      const place = (one.closest("[class*=st-key]") ?? root.host?.closest("[class*=st-key]"))?.className;
      if (!reached) found.push(`no key reaches ${one.outerHTML.slice(0, 120)} in ${place?.match(/st-key-\\S+/)?.[0]}`);
    }
  };
  walk(document);
  return found.slice(0, 9);
}"""


def drawn(page: Page) -> None:
    """Wait until nothing is added to the page any more: its pictures are drawn after the run is over."""
    page.wait_for_function(
        f"""() => {{
          const now = ({COUNT})(), state = (window.drawn ??= {{ count: -1, since: 0 }});
          if (now !== state.count) Object.assign(state, {{ count: now, since: performance.now() }});
          return performance.now() - state.since > 600;
        }}""",
        polling=100,
    )
    page.evaluate("delete window.drawn")


def axe(page: Page, *rules: str) -> list[str]:
    """The serious and critical faults of a page by axe-core, by all of its rules or by some."""
    from axe_playwright_python.base import AXE_SCRIPT

    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    # A colour of a control that is switched off may be pale (WCAG 1.4.3); of a slider axe does not see that it is.
    asked = {"include": [["body"]], "exclude": [["[data-testid=stWidgetLabel][disabled]"]]}
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = page.evaluate("([asked, options]) => axe.run(asked, options)", [asked, options])["violations"]
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:200]} {node['failureSummary'][:300]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


def faults(page: Page) -> list[str]:
    """All of them, the colours in both themes."""
    drawn(page)
    found = axe(page) + page.evaluate(UNREACHABLE)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    drawn(page)
    return found + [f"in the dark: {fault}" for fault in axe(page, "color-contrast")]
