// Keys of the page. Charts handle their own keys first (views/box_input.js).

/**
 * @param {Object<string, () => void>} actions by key
 * @param {AddEventListenerOptions} options
 */
export function listenToKeys(actions, options = {}) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, select, textarea, dialog[open]") && event.key !== "Escape") return;
    if (event.target.closest?.("dialog[open]")) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }, options);
}
