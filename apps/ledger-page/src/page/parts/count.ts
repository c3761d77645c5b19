const grouped = new Intl.NumberFormat(undefined);

/** A number for people, its thousands apart. */
export const formatCount = (count: number): string => grouped.format(count);

/** `1 event`, `2 events`: a noun with the right ending. */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
