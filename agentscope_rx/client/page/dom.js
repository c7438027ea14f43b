/** Elements from values; a text is always text, never HTML. */

/** Make an element; attributes that are null are left out, functions are listeners. */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Make the element of a tree of `markdown.js`. */
export function fromTree(tree) {
  if (typeof tree === "string") return document.createTextNode(tree);
  return h(tree.tag, tree.attributes, ...tree.children.map(fromTree));
}

/** Let a node have these children; those that stay are not touched, so that they keep their state. */
export function setChildren(node, children) {
  children.forEach((child, index) => {
    if (node.childNodes[index] !== child) node.insertBefore(child, node.childNodes[index] ?? null);
  });
  while (node.childNodes.length > children.length) node.lastChild.remove();
}

/** Set a text if it is another; what only grows is appended, so that a selection stays. */
export function setText(node, text) {
  const shown = node.textContent;
  if (shown === text) return;
  if (shown && text.startsWith(shown) && node.firstChild === node.lastChild) node.firstChild.appendData(text.slice(shown.length));
  else node.textContent = text;
}
