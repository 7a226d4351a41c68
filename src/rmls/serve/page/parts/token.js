// The token of a service that asks for one: kept as long as the tab is open.
const KEY = "rmls-token";
let asking = null;

export const token = () => sessionStorage.getItem(KEY);
export const forgetToken = () => sessionStorage.removeItem(KEY);

/** Ask for the token; requests that need it at the same time share one question. */
export function askToken(wrong) {
  asking ??= new Promise((done) => {
    const dialog = document.getElementById("token");
    const input = document.getElementById("token-value");
    document.getElementById("token-why").textContent = wrong
      ? "That token was not accepted. Check it and try again."
      : "Whoever runs the service can give it to you. It is kept until you close this tab.";
    input.value = "";
    dialog.returnValue = "";
    dialog.addEventListener(
      "close",
      () => {
        asking = null;
        const value = input.value.trim();
        const given = dialog.returnValue === "send" && value !== "";
        // A header can hold no other characters.
        if (given) sessionStorage.setItem(KEY, value.replace(/[^\x20-\x7e]/g, ""));
        input.value = "";
        done(given);
      },
      { once: true },
    );
    dialog.showModal();
    input.focus();
  });
  return asking;
}
