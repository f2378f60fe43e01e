// Which of many elements are on the screen or near it: only of those the diagrams are drawn and the clocks run. All
// others stay in the page with their words, so that keys, screen readers and the browser's own search find them.

/** How far around the screen is near, in parts of it. */
const MARGIN = "60%";

/** Watches things with an `element`; `come(thing)` and `go(thing)` are called as they come near and go away. */
export class Near {
  #things = new Map();
  #near = new Set();
  #come;
  #go;

  /** `root` is the element that scrolls; without it that is the page. */
  constructor(come, go, root = null) {
    this.#come = come;
    this.#go = go;
    this.watcher = new IntersectionObserver((entries) => entries.forEach((entry) => this.#moved(entry)), { root, rootMargin: MARGIN });
    // On paper everything is near.
    addEventListener("beforeprint", () => this.#things.forEach((thing) => this.#near.has(thing) || come(thing)));
    addEventListener("afterprint", () => this.#things.forEach((thing) => this.#near.has(thing) || go(thing)));
  }

  /** What is near now. */
  [Symbol.iterator]() {
    return this.#near.values();
  }

  watch(thing) {
    this.#things.set(thing.element, thing);
    this.watcher.observe(thing.element);
  }

  forget(thing) {
    this.watcher.unobserve(thing.element);
    this.#things.delete(thing.element);
    this.#near.delete(thing);
  }

  #moved({ target, isIntersecting }) {
    const thing = this.#things.get(target);
    if (!thing || this.#near.has(thing) === isIntersecting) return;
    if (isIntersecting) {
      this.#near.add(thing);
      this.#come(thing);
    } else {
      this.#near.delete(thing);
      this.#go(thing);
    }
  }
}
