/// A partner's brand, with sign-in pages of its own.
struct Brand: Sendable, Hashable {
  /// The proof that the sign-in page asks for.
  enum Strategy: String, Sendable, CaseIterable {
    case pin = "PIN"
    case password = "PASSWORD"
  }

  let identity: String
  let name: String
  /// The proof to ask for if the request has no `login_strategy`.
  let strategy: Strategy

  static let standard = [
    Brand(identity: "acme", name: "Acme Wallet", strategy: .pin),
    Brand(identity: "globex", name: "Globex Money", strategy: .password),
    // The brand of the example in the vendor's documentation.
    Brand(identity: "brand-identity", name: "Partner Wallet", strategy: .pin),
  ]
}

extension Client {
  /// The clients of the Paysafe fake, for every brand.
  static let paysafe = {
    let redirects = Self.loopback + ["https://partner.example/wallet/callback"]
    return [
      Client(
        id: "acme-wallet", name: "the Acme wallet", secret: "s3cret:+/%", redirectURIs: redirects),
      Client(id: "acme-public", name: "the Acme app", redirectURIs: redirects),
      // The client of the example in the vendor's documentation.
      Client(
        id: "client-identifier", name: "the partner's app",
        redirectURIs: ["http://www.partner.com/wallet/dashboard"]),
    ]
  }()
}
