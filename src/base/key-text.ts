/** Text of a resource's key. */

/** Returns `namespace/name`. It is unique, since neither a namespace nor a name contains a slash. */
export function keyText({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
