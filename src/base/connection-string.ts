/** Splits Azure connection strings, such as `BlobEndpoint=https://logs.blob.core.windows.net;AccountName=logs`. */

/** Returns the values in a connection string, by their names. A value may contain `=`. */
export function connectionEntries(text: string): Readonly<Record<string, string>> {
  const entries = text.split(';').map((entry) => {
    const [name = '', ...value] = entry.split('=');
    return [name.trim(), value.join('=').trim()] as const;
  });
  return Object.fromEntries(entries);
}
