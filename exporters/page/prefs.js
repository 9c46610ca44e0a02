// What a person likes, kept by the browser between pages. A browser that keeps nothing forgets it.

const kPrefix = "sampan.";

/** @param {string} key @returns {string|null} */
export function recall(key) {
  try {
    return localStorage.getItem(kPrefix + key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string|number|null} value null: forget it */
export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(kPrefix + key);
    else localStorage.setItem(kPrefix + key, value);
  } catch {
    // It lasts as long as the page.
  }
}
