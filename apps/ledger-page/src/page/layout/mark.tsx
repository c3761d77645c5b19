import icon from "../icon.svg";

/** The sign of the house. */
export function Mark() {
  return <img className="mark" src={icon} alt="" width={24} height={24} />;
}
