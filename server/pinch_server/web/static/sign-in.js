const form = document.getElementById("sign-in");
const problem = document.getElementById("problem");
const field = form.elements.namedItem("token");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.textContent = "";
  const token = field.value.trim();
  try {
    const reply = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    // A token may be known and yet be none for this page.
    const page = reply.ok ? await fetch("/api/v1/state") : reply;
    if (page.ok) {
      // The same address again, now with the cookie.
      location.reload();
      return;
    }
    const told = await page.json().catch(() => null);
    problem.textContent = told?.error?.message ?? `The service answered ${page.status}.`;
  } catch {
    problem.textContent = "The service does not answer.";
  }
  field.select();
});
