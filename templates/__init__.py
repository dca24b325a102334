"""The pages, as jinja2 fills them, and the texts of the lessons and the glossary."""
