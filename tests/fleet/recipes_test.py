#!/usr/bin/env python3
"""Every recipe of docs/guide.md and docs/fleet.md is run by a script here, or recipes.py says why it is not."""
import unittest

import recipes


class Recipes(unittest.TestCase):
    def test_none_is_forgotten(self):
        lines = [f"docs/{each.page}:{each.line}: {each.text.splitlines()[0]}" for each in recipes.forgotten()]
        self.assertEqual(lines, [], "no script of tests/fleet runs these")

    def test_what_is_not_run_is_there(self):
        for page, begins in recipes.NOT_RUN.items():
            for begin in begins:
                with self.subTest(page=page, begin=begin):
                    self.assertTrue(any(each.text.startswith(begin) for each in recipes.recipes(page)))

    def test_pages_have_recipes(self):
        """So that the tests above cannot pass because nothing was found."""
        for page, least in {"guide.md": 60, "fleet.md": 15}.items():
            self.assertGreaterEqual(len(recipes.recipes(page)), least)


if __name__ == "__main__":
    unittest.main()
