/** Parses values of command-line flags. */
import { InvalidArgumentError } from 'commander';

/** Address of a server. Port 0 means any free port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const addressForm = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/;

/** Parses an address: `HOST:PORT`, `[IPv6]:PORT` or `:PORT`. */
export function listenAddress(text: string): ListenAddress {
  const match = addressForm.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) {
    throw new InvalidArgumentError(
      'Use HOST:PORT, for example 127.0.0.1:8080, or :8080 for every address of this machine.',
    );
  }
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}

/** Parses a whole number of at least 0. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Use a whole number, for example 120.');
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError(`Write ${Number.MAX_SAFE_INTEGER} at most.`);
  return value;
}

/** Adds a value to the earlier values of a repeatable flag. */
export function fileList(text: string, former: readonly string[] | undefined): readonly string[] {
  return [...(former ?? []), text];
}
