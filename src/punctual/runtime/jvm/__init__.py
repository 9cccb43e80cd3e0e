"""The Java process: which Java, its archive of classes, and starting aside."""
