/**
 * Logs as readable lines: `2026-11-01T14:03:07Z info  collector accepted  collector=web-1 task=7`. Control characters
 * in values are escaped.
 *
 * logfleet does not use the package pino-pretty (version 13), for three reasons:
 * - It does not escape line breaks in messages, so a message could forge a log line.
 * - It moves fields such as `name` out of the list of fields.
 * - It writes each error on several lines, even an expected error, or as one line of JSON that contains the stack.
 */
import { stripVTControlCharacters, styleText } from 'node:util';
import type { Clock } from './clock.ts';
import { type RenderedError, renderError } from './error-rendering.ts';
import { isExpected } from './errors.ts';
import { FieldLogger, type LogFields, type Logger, type LogLevel } from './log.ts';
import { isoSeconds } from './time-text.ts';

export interface TextLogOptions {
  readonly level: LogLevel;
  /** Whether to colour log levels. */
  readonly colors: boolean;
  readonly clock: Clock;
  /** Stream to which each line is written, for example `process.stderr`. */
  readonly output: { write(line: string): unknown };
}

const severity: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
const color = { debug: 'gray', info: 'cyan', warn: 'yellow', error: 'red' } as const;

export function createTextLogger(options: TextLogOptions): Logger {
  return new FieldLogger((level, message, fields) => {
    if (severity[level] < severity[options.level]) return;
    options.output.write(renderLine(options, level, message, fields));
  });
}

function renderLine(options: TextLogOptions, level: LogLevel, message: string, fields: LogFields): string {
  const time = isoSeconds(options.clock.now());
  const label = level.padEnd(5);
  const shownLevel = options.colors ? styleText(color[level], label, { validateStream: false }) : label;
  const pairs = Object.entries(fields).filter(([, value]) => value !== undefined);
  const shownFields = pairs.map(([name, value]) => `${escapeControls(name)}=${renderValue(value)}`).join(' ');
  const line = `${time} ${shownLevel} ${escapeControls(message)}${shownFields === '' ? '' : `  ${shownFields}`}`;
  const stacks = pairs.filter(([, value]) => value instanceof Error && !isExpected(value));
  return `${[line, ...stacks.flatMap(([, value]) => renderStack(renderError(value)))].join('\n')}\n`;
}

function renderValue(value: unknown): string {
  if (value instanceof Error) {
    const { code, message } = renderError(value);
    return quote(code === undefined ? message : `${message} (${code})`);
  }
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'object' && value !== null) return escapeControls(renderObject(value));
  return escapeControls(String(value));
}

function renderObject(value: object): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '[not renderable]';
  }
}

/** Quotes a value unless it is a plain word. */
function quote(text: string): string {
  return /^[\w.,:/@%+*-]+$/.test(text) ? text : escapeControls(JSON.stringify(text));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: this pattern searches for control characters.
const controlCharacter = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

function escapeControls(text: string): string {
  return text.replace(controlCharacter, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function renderStack(error: RenderedError): string[] {
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  const lines = frames.map((frame) => escapeControls(stripVTControlCharacters(frame)));
  if (error.cause === undefined) return lines;
  return [...lines, `  caused by ${escapeControls(error.cause.message)}`, ...renderStack(error.cause)];
}
