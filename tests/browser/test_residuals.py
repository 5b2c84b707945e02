"""The page of residuals and norms in a real browser: a click opens a number, a click on the other order brings it."""

import re


def test_a_click_in_either_order(page, address):
    page.goto(f"{address}/residuals?lang=en&s=The+cat+sat.&arch=decoder&norm=pre&layer=1&at=2")
    page.locator(".stVegaLiteChart").nth(3).wait_for(timeout=90_000)
    rows = page.locator("[class*=st-key-line-pre] .stage")
    rows.first.wait_for()
    assert rows.count() == 5 and page.locator("[class*=st-key-line-post] .stage").count() == 5
    rows.last.click(position={"x": 100, "y": 8})
    code = page.locator("[class*=st-key-arithmetic-] code")
    code.filter(has_text=re.compile(r"layers\.1\.feed_forward_residual\.sum\[2, \d+\]")).wait_for()
    page.locator("[class*=st-key-line-post] .stage").nth(1).click(position={"x": 100, "y": 8})
    page.wait_for_function("() => location.search.includes('norm=post')")
    code.filter(has_text=re.compile(r"layers\.1\.feed_forward\.output\[2, \d+\]")).wait_for()
