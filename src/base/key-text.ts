/** Returns the unique key `namespace/name` of a resource. */
export function keyText({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
