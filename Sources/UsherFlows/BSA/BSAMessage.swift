import UsherCore

/// Decides which messages of BSA (`rtMsg`) are shown to programs and users.
///
/// The vendor does not specify `rtMsg`, so a server may repeat in it what the call sent.
enum BSAMessage {
  /// The number of adjacent digits from which a number may be a one-time number.
  private static let maxDigits = 3
  /// The number of all digits of a message from which they may be a phone number.
  private static let maxTotal = 6
  /// The number of adjacent ASCII characters of an encoded secret from which a word may be one.
  private static let maxWord = 15

  /// Returns the message without control characters, cut to 200 characters.
  ///
  /// - Parameter values: The values in the call that are secret or personal.
  /// - Returns: Nil if the message is blank, repeats one of the values, or has an address, a number
  ///   of four digits, seven digits or a word that may be a token.
  static func shown(_ text: String, _ values: [Secret]) -> String? {
    let mayTell =
      text.contains("@")
      || text.longestRun(of: { $0.properties.numericType == .decimal }) > maxDigits
      || text.decimals.count > maxTotal || text.longestRun(of: \.isTokenPart) > maxWord
    guard !mayTell, !values.contains(where: { repeats($0, in: text) }) else { return nil }
    return ProviderText.shown(text)
  }

  /// The number of characters up to which a value is a part of usual words, such as the name Ed.
  private static let shortValue = 3

  private static func repeats(_ value: Secret, in text: String) -> Bool {
    let (words, text) = (value.revealed().lowercased(), text.lowercased())
    let digits = words.decimals
    let isRepeated =
      words.count > shortValue
      ? text.contains(words)
      : text.split { !$0.isLetter && !$0.isNumber }.contains { $0 == words }
    return isRepeated || digits.count > maxDigits && text.decimals.contains(digits)
  }
}

extension String {
  /// Returns the length of the longest run of Unicode scalars that match.
  fileprivate func longestRun(of matches: (Unicode.Scalar) -> Bool) -> Int {
    unicodeScalars.split { !matches($0) }.map(\.count).max() ?? 0
  }
}

extension Unicode.Scalar {
  /// Whether Base64, Base32, hexadecimal digits or the ids of usual tokens have this character.
  fileprivate var isTokenPart: Bool {
    isASCII
      && (properties.isAlphabetic || ("0"..."9").contains(self)
        || "+/=_-.".unicodeScalars.contains(self))
  }
}

extension BSACall {
  /// The values that BSA must not repeat to programs and users: secrets and personal data.
  var values: [Secret] {
    switch self {
    case .duplicateCheck(let contact), .send(let contact): [Secret(contact.target)]
    case .idCheck(let userKey): [Secret(userKey)]
    case .sendToMember(let member, let contact):
      [member.userKey, member.name, contact.target].map { Secret($0) }
    case .verify(let contact, let number): [Secret(contact.target), number]
    case .signUp(let enrolment, let token), .replaceDevice(let enrolment, let token):
      enrolment.values + [token]
    case .deviceCheck(let device): [Secret(device)]
    case .exists(let device, let userKey), .generateNumber(let userKey, let device):
      [Secret(userKey), Secret(device)]
    case .start(let session, let userKey): session.values + [Secret(userKey)]
    case .complete(let session, isProved: _), .cancel(let session): session.values
    case .result(let session, let channel): session.values + [channel]
    case .dropNumber(let number): [number]
    }
  }
}

extension BSAEnrolment {
  fileprivate var values: [Secret] {
    [userKey, name, contact.target, email, phoneNumber, pushToken, device].compactMap { $0 }
      .map { Secret($0) }
  }
}

extension BSASignInSession {
  fileprivate var values: [Secret] {
    [Secret(device)] + (site.map { [$0.unsealed()] } ?? []) + (qrID.map { [Secret($0)] } ?? [])
  }
}
