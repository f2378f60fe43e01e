// The few things that make elements.

/** An element with attributes, listeners (`onclick`) and children; empty children are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for a part of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value != null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Sets a text only when it differs, so that screen readers are left in peace. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Something that the browser remembers; not all browsers may. */
export const remembered = {
  get(name, otherwise) {
    try {
      return localStorage.getItem(`dgt2mqtt.${name}`) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`dgt2mqtt.${name}`, value);
    } catch {
      // It lasts until the page is closed.
    }
  },
};

/** JSON from the server; throws what a person can read. */
export async function fetched(path, options) {
  const response = await fetch(path, options);
  if (response.status === 401) location.reload();
  const body = await response.json().catch(() => null);
  if (body === null) throw new Error(`${response.status} ${response.statusText}`);
  return body;
}

/** Answers may come in another order than the questions: one that is older than what is shown is not shown. */
export class Answers {
  #asked = 0;
  #shown = 0;

  /** The number of a question. */
  ask() {
    this.#asked += 1;
    return this.#asked;
  }

  /** Whether the answer to this question is to be shown. */
  isNews(asked) {
    if (asked < this.#shown) return false;
    this.#shown = asked;
    return true;
  }
}

/** Makes `children` the children of an element. Those that stay where they are are not touched, and the focus stays with
 * the one that has it. */
export function place(element, children) {
  const focused = document.activeElement;
  let here = element.firstElementChild;
  for (const child of children) {
    // The child that stood between goes elsewhere, or nowhere.
    if (here && here !== child && here.nextElementSibling === child) {
      here.remove();
      here = child;
    }
    if (here === child) here = child.nextElementSibling;
    else element.insertBefore(child, here);
  }
  while (here) {
    const next = here.nextElementSibling;
    here.remove();
    here = next;
  }
  if (focused !== document.activeElement && element.contains(focused)) focused.focus({ preventScroll: true });
}

/** Elements that are made anew only when what they show has changed: nobody's finger misses a button because a clock
 * ran on. */
export class Parts {
  #known = new Map();

  clear() {
    this.#known.clear();
  }

  part(name, shows, make) {
    const key = JSON.stringify([document.documentElement.lang, shows]);
    const known = this.#known.get(name);
    if (known?.key === key) return known.element;
    const element = make();
    this.#known.set(name, { key, element });
    return element;
  }
}
