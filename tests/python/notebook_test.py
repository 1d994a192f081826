"""What notebooks show of graphs and profiles: pictures that stand alone."""

import re
import unittest
import xml.etree.ElementTree as xml

import weft

SVG = "{http://www.w3.org/2000/svg}"


def boxes_of(svg):
    """The boxes of a drawing by what they say: (x, y, width, height)."""
    boxes = {}
    for group in xml.fromstring(svg).iter(f"{SVG}g"):
        box, text = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        if box is not None and text is not None:
            boxes.setdefault(text.text, []).append(
                tuple(float(box.get(key))
                      for key in ("x", "y", "width", "height")))
    return boxes


class NotebookTest(unittest.TestCase):
    def test_a_graph_is_drawn(self):
        def model(x, w):
            hidden = weft.tanh(x @ w)
            return weft.relu(hidden) + hidden, weft.sum(hidden)

        graph = weft.jit(model).graph(weft.TensorType("f32", ("N", 3)),
                                      weft.ones((3, 4)))
        svg = graph.svg()
        boxes = boxes_of(svg)
        self.assertLessEqual({"matmul", "tanh", "relu", "add", "result 0"},
                             set(boxes))
        # Each stands below what it comes from.
        for above, below in (("matmul", "tanh"), ("tanh", "relu"),
                             ("relu", "add"), ("add", "result 0")):
            self.assertLess(boxes[above][0][1] + boxes[above][0][3],
                            boxes[below][0][1])
        self.assertIn("matmul(f32[N, 3], f32[3, 4]) -&gt; f32[N, 4]", svg)
        # What one points at is told on lines of their own.
        self.assertRegex(svg, r"\nbuilt at: .*notebook_test\.py")
        self.assertIn(svg, graph._repr_html_())

    def test_boxes_do_not_overlap(self):
        def model(x):
            for width in range(1, 6):
                x = sum(weft.tanh(x * k) for k in range(1, width + 1))
            return x + weft.mean(x)

        all_boxes = [box for boxes in boxes_of(
            weft.jit(model).graph(weft.ones((4,))).svg()).values()
            for box in boxes]
        self.assertGreater(len(all_boxes), 30)
        for i, (x, y, width, height) in enumerate(all_boxes):
            self.assertGreaterEqual(x, 0)
            for other in all_boxes[:i]:
                self.assertTrue(
                    abs(x + width / 2 - other[0] - other[2] / 2) >=
                    (width + other[2]) / 2 or abs(y - other[1]) >= height)

    def test_bodies_are_drawn_beside_each_other(self):
        @weft.jit
        def total(x):
            return weft.while_loop(lambda v: v[0] < 3,
                                   lambda v: (v[0] + 1, v[1] + x), (0, x))[1]

        svg = total.graph(weft.ones(())).svg()
        titles = re.findall(r">@([^<]+)</text>", svg)
        self.assertGreaterEqual(len(titles), 3)
        self.assertIn("while", boxes_of(svg))

    def test_names_are_no_markup(self):
        def model(x):
            return weft.tanh(x)

        model.__name__ = "a<b>&"
        html = weft.jit(model).graph(weft.ones(())).svg()
        xml.fromstring(html)
        self.assertNotIn("<b>", html)

    def test_a_large_graph_says_so(self):
        def model(x):
            for _ in range(1001):
                x = weft.tanh(x) + 1
            return x

        graph = weft.jit(model).graph(weft.ones(()))
        self.assertIn("nodes, too many to be drawn", graph.svg())

    def test_a_profile_is_drawn(self):
        step = weft.jit(lambda x: weft.tanh(x @ x))
        x = weft.ones((64, 64))
        with weft.profile() as profile:
            self.assertIn("recording", profile._repr_html_())
            for _ in range(3):
                step(x)
        page = xml.fromstring(profile._repr_html_())
        rows = [[cell.text for cell in row] for row in page.iter("tr")]
        (product,) = [row for row in rows if row[0] == "matmul"]
        self.assertEqual(product[2], "3")
        drawn = [title.text for title in page.iter(f"{SVG}title")]
        self.assertEqual(
            sum(text.startswith("matmul") for text in drawn), 3)

    def test_no_profile_is_drawn(self):
        with weft.profile() as profile:
            pass
        xml.fromstring(profile._repr_html_())


if __name__ == "__main__":
    unittest.main()
