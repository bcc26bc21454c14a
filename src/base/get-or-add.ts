/** Returns the value of a map's key. If the key is missing, first adds the key with the value that `create` returns. */
export function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const added = create();
  map.set(key, added);
  return added;
}
