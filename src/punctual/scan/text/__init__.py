"""Texts in buffers, and one text at a time: numbers, zones and broken UTF-8 as the JVM reads them."""
