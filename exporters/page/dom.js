// Makes elements in one expression.

/**
 * h("button", {class: "tool", onclick: go}, "Go"): attributes as they are in HTML; functions become
 * listeners; true, false and null are attributes that are there or not. Text is text, never HTML.
 * @param {string} tag
 * @param {Object<string, any>} attributes
 * @param {...(Node|string|null)} children
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

let svgNamespace = null;

/** The same for pictures: svg("path", {d: "M0 0h1"}). Attributes are texts. */
export function svg(tag, attributes = {}, ...children) {
  if (svgNamespace === null) {
    const parsed = document.createElement("template");
    parsed.innerHTML = "<svg></svg>";  // the page has no address in it
    svgNamespace = parsed.content.firstChild.namespaceURI;
  }
  const element = document.createElementNS(svgNamespace, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Runs `fn` once before the next frame, however often it is asked to. */
export function beforeNextFrame(fn) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      fn();
    });
  };
}
