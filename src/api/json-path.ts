/** Path of a value in a resource: field names and list indexes, outermost first. */

export type JsonPath = readonly (string | number)[];

const plainName = /^[A-Za-z_][\w-]*$/;

/** Renders a path like the API server: `spec.selector.matchExpressions[0].values`. */
export function renderPath(path: JsonPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'string' && plainName.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${step}]`;
  }
  return text;
}

/** Reports whether `path` is `outer` or inside it. */
export function isWithin(path: JsonPath, outer: JsonPath): boolean {
  return outer.length <= path.length && outer.every((step, index) => path[index] === step);
}

/** Returns the value at a path, or undefined if there is none. */
export function valueAt(root: unknown, path: JsonPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}
