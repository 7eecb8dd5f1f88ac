import UsherCore
import UsherFlows

extension FuzzTarget {
  /// The challenge of a service is read in the same way with other spaces and commas around it, and
  /// what is read of it is in the header.
  static let challenge = FuzzTarget("challenge", words: ["UsherFlows/OAuth"]) { input in
    let header = input.text
    let challenge = BearerChallenge(header)
    try require(BearerChallenge(" ,\(header), ") == challenge, "commas change the challenge")
    guard let challenge else { return }
    for value in [challenge.error, challenge.scope, challenge.acrValues].compactMap(\.self) {
      // A quoted value may have escapes, which are not part of it.
      let plain = header.filter { $0 != "\\" }
      try require(
        plain.contains(value.filter { $0 != "\\" }), "the value \(value) is not in the header")
    }
    try require((challenge.maxAge ?? 0) >= 0, "the age is \(challenge.maxAge ?? 0)")
  }
}
