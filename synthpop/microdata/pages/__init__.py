"""Pages: one shell and one style of HTML, and charts as SVG."""
