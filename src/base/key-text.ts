/** Text of a resource's key. */

/**
 * Returns the key of a resource as text, `namespace/name`. Different keys have different texts,
 * because neither part contains a slash.
 */
export function keyText({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
