// Runs before the first paint, so that a stored theme does not flash.
try {
  const theme = localStorage.getItem("toolgate.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // No storage: use the system's theme.
}
