/// A partner's brand at the provider, with pages of its own.
struct Brand: Sendable, Hashable {
  /// What a person proves on the sign-in page that it is them.
  enum Strategy: String, Sendable, CaseIterable {
    case pin = "PIN"
    case password = "PASSWORD"
  }

  let identity: String
  let name: String
  /// Where the request asks for none.
  let strategy: Strategy

  static let standard = [
    Brand(identity: "acme", name: "Acme Wallet", strategy: .pin),
    Brand(identity: "globex", name: "Globex Money", strategy: .password),
  ]
}

extension Client {
  /// The clients of the Paysafe stand-in, for every brand.
  static let paysafe = {
    let redirects = Self.loopback + ["https://partner.example/wallet/callback"]
    return [
      Client(
        id: "acme-wallet", name: "the Acme wallet", secret: "s3cret:+/%", redirectURIs: redirects),
      Client(id: "acme-public", name: "the Acme app", redirectURIs: redirects),
    ]
  }()
}
