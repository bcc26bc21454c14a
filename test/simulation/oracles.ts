export function violationsOf(record: { missing: readonly string[] }): string[] { return [...record.missing]; }
