/** Where something stands in a resource: names of members and indexes of items, from the outside in. */

export type JsonPath = readonly (string | number)[];

const plainName = /^[A-Za-z_][\w-]*$/;

/** As the API server writes it: `spec.selector.matchExpressions[0].values`, `metadata.annotations[logfleet.dev/paused]`. */
export function renderPath(path: JsonPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'string' && plainName.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${step}]`;
  }
  return text;
}

/** Whether one path is the other, or leads to something inside it. */
export function isWithin(path: JsonPath, outer: JsonPath): boolean {
  return outer.length <= path.length && outer.every((step, index) => path[index] === step);
}

/** What stands at a path, or undefined. */
export function valueAt(root: unknown, path: JsonPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}
