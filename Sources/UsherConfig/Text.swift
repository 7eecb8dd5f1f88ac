// Predicates for the validation of text in settings.

extension UInt8 {
  /// Whether the byte is one of `A–Z a–z 0–9 _`.
  var isWordByte: Bool { isLetter || isDigit || self == UInt8(ascii: "_") }

  var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  /// Whether the byte is printable ASCII, without the space.
  var isVisible: Bool { (0x21...0x7E).contains(self) }

  func isOne(of characters: StaticString) -> Bool {
    characters.withUTF8Buffer { $0.contains(self) }
  }
}

extension String {
  /// Returns whether the text is not empty, has at most `limit` bytes, and consists of allowed
  /// bytes.
  func consists(upTo limit: Int, of isAllowed: (UInt8) -> Bool) -> Bool {
    !isEmpty && utf8.count <= limit && utf8.allSatisfy(isAllowed)
  }

  /// Whether the text is a valid name of a provider or client: `[a-z0-9][a-z0-9._-]{0,63}`.
  var isConfigName: Bool {
    guard let first = utf8.first, !first.isOne(of: "._-") else { return false }
    return consists(upTo: 64) {
      $0.isDigit || ($0.isLetter && $0 & 0x20 != 0) || $0.isOne(of: "._-")
    }
  }

  /// Whether the text is a valid name of a credential. Such a name is a valid file name too, as
  /// systemd requires.
  package var isCredentialName: Bool {
    utf8.first != UInt8(ascii: ".") && consists(upTo: 128) { $0.isWordByte || $0.isOne(of: ".-") }
  }

  /// Why a setting must not name this credential; nil if it may.
  ///
  /// A registration belongs to one provider. No setting may give its secret to another one, or have
  /// a key made in its place.
  var credentialViolation: String? {
    RegisteredClient.isCredentialName(self)
      ? "must not begin with \(RegisteredClient.credentialPrefix), the names of credentials that "
        + "registrations have issued" : credentialNameViolation
  }

  /// Why the text is not a valid name of a credential, be it that of a registration; nil if it is.
  var credentialNameViolation: String? {
    isCredentialName ? nil : "must be a credential's name: up to 128 of A-Z a-z 0-9 . _ -"
  }

  /// Why the text is not a valid name of a provider or client; nil if it is.
  var configNameViolation: String? {
    isConfigName ? nil : "must be up to 64 of a-z 0-9 . _ - and begin with a letter or digit"
  }

  /// Returns what is wrong with a text that must consist of at most `limit` bytes of printable
  /// ASCII without spaces; nil if nothing is.
  func visibleViolation(upTo limit: Int) -> String? {
    consists(upTo: limit, of: \.isVisible) ? nil : "must be printable ASCII without spaces"
  }

  /// Whether the text can be the audience of a token.
  var isAudience: Bool { consists(upTo: 2048, of: \.isVisible) }

  /// Why the text is not an absolute path; nil if it is.
  var pathViolation: String? { isAbsolutePath ? nil : "must be an absolute path" }

  var isAbsolutePath: Bool { hasPrefix("/") && consists(upTo: 4096) { $0 >= 0x20 && $0 != 0x7F } }

  /// Returns the name that is most similar to this text; nil if none is similar enough to be
  /// suggested.
  func nearest(of names: some Sequence<String>) -> String? {
    let limit = utf8.count > 4 ? 2 : 1
    let near = names.map { (name: $0, distance: distance(to: $0)) }
      .filter { $0.distance <= limit }
    return near.min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
  }

  /// Returns the edit distance of two texts: the number of changed, inserted, deleted and swapped
  /// neighbouring bytes.
  private func distance(to other: String) -> Int {
    let a = Array(utf8)
    let b = Array(other.utf8)
    guard a.count <= 64, b.count <= 64, abs(a.count - b.count) <= 2 else { return .max }
    var before: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var best = Swift.min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          best = Swift.min(best, before[j - 1] + 1)
        }
        row.append(best)
      }
      (before, last) = (last, row)
    }
    return last[b.count]
  }
}
