"""Widgets that show a choice: what is a touch, and what is not."""

from streamlit.testing.v1 import AppTest

from tests.visits import sound, widget


def _page() -> None:
    import streamlit as st

    from explorer import controls

    choice, said = st.session_state.setdefault("choice", ["a"]), st.session_state.setdefault("said", [])

    def touched(given: str) -> None:
        said.append(given)
        choice[0] = given

    st.pills("letter", ["a", "b", "c"], **controls.show("letter", choice[0], touched))


def letter(app: AppTest):
    return widget(app.get("button_group"), "letter")


def test_a_touch_is_said_once_and_the_widget_stays():
    app = sound(AppTest.from_function(_page).run())
    key = letter(app).key
    app = sound(letter(app).set_value("b").run())
    app = sound(app.run())
    assert app.session_state.said == ["b"] and (letter(app).key, letter(app).value) == (key, "b")


def test_a_choice_made_elsewhere_gets_a_widget_of_its_own():
    app = sound(AppTest.from_function(_page).run())
    key = letter(app).key
    app.session_state.choice[0] = "c"
    app = sound(app.run())
    assert app.session_state.said == [] and letter(app).value == "c" and letter(app).key != key


def test_a_widget_that_comes_up_empty_says_nothing_and_is_made_anew():
    app = sound(AppTest.from_function(_page).run())
    key = letter(app).key
    app = sound(letter(app).set_value(None).run())
    assert app.session_state.said == [] and letter(app).value == "a" and letter(app).key != key
