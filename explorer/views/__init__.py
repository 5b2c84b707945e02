"""How values look: charts of tidy tables, and components for the pass and for matrices."""
