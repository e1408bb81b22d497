// Runs before the first paint, so that a stored theme does not flash and the panel has its room.
try {
  const theme = localStorage.getItem("toolgate.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  const expected = location.hash.startsWith("#/s/") && localStorage.getItem("toolgate.panel") !== "closed";
  if (expected) document.documentElement.dataset.panel = "expected";
} catch {
  // No storage: use the system's theme.
}
