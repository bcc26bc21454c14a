/**
 * Colours text for terminals. The page of `logfleet ui` cannot import this file, because browsers have no `node:util`.
 */
import { styleText } from 'node:util';

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan';

/** Returns the text in the given colour, or unchanged if colours are off. */
export type Paint = (colour: Colour, text: string) => string;

export function paintWith(colour: boolean): Paint {
  return (name, text) => (colour && text !== '' ? styleText(name, text, { validateStream: false }) : text);
}
