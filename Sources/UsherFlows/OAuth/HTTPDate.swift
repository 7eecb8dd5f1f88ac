package import UsherCore

extension Timestamp {
  /// Parses an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
  ///
  /// Returns nil for any other text.
  package init?(httpDate text: String) {
    let parts = text.split(separator: " ")
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]),
      let month = months.firstIndex(of: String(parts[2])), let year = Int(parts[3])
    else { return nil }
    let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
    self.init(rfc3339: "\(year)-\(two(month + 1))-\(two(day))T\(parts[4])Z")
  }
}
