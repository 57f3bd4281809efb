// Runs before the first paint, so that a chosen theme never flashes up as the other one.
"use strict";
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("pinch-theme"); } catch { /* storage may be forbidden: then the system's theme it is */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
