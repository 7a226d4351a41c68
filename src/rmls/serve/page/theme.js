// Runs before the first paint, so that a chosen theme does not flash; hence no module.
(() => {
  const chosen = localStorage.getItem("rmls-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
