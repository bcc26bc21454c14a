/** Keys of resources, for maps and messages. */

interface Key {
  readonly namespace: string;
  readonly name: string;
}

/** Returns the unique key `namespace/name` of a resource. */
export function keyText({ namespace, name }: Key): string {
  return `${namespace}/${name}`;
}

/** Returns a string that identifies an object by its kind, namespace and name. */
export function identify(kind: string, key: Key): string {
  return `${kind}/${keyText(key)}`;
}
