/** Who types a command, as the operating system knows them. */
import { userInfo } from 'node:os';

/** Undefined where the user has no name, as in a container that runs under a bare number. */
export function currentUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
