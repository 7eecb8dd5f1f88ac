/// The only registered partner, and the credentials that it and GoPay send each other.
enum GoPayPartner {
  static let name = "Acme"
  static let clientID = "acme-sdk"
  static let merchantID = "8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11"
  static let channelID = "95221"
  /// The secret that signs SNAP requests, except the first, which the partner's private key signs.
  static let clientSecret = "s3cret:snap/key+="
  /// The credential that the partner's backend requires.
  static let exchangeCredential = "s3cret:exchange/key+="
  /// The credential that a callback may send instead of the linking token.
  static let callbackCredential = "s3cret:callback/key+="
  /// The redirect addresses of the log-in.
  static let redirects = Client(
    id: clientID, name: name,
    redirectURIs: Client.loopback + [
      "https://partner.example/gopay/callback", "acme://gopay/callback",
    ])
}

extension GoPayBackend {
  package nonisolated func configurationSample(base: String) -> String {
    """
    [[provider]]
    name = "gopay"
    type = "gopay"
    client_id = "\(GoPayPartner.clientID)"
    merchant_id = "\(GoPayPartner.merchantID)"
    exchange = "app"
    snap_base_url = "\(base)\(Self.path)/snap"
    identity_base_url = "\(base)\(Self.path)/identity"
    capture_base_url = "\(base)\(Self.path)/capture"

    # For exchange = "backend"; the credential is \(GoPayPartner.exchangeCredential)
    # exchange_url = "\(base)\(Self.path)/partner/exchange"
    # exchange_credential = "gopay-exchange"

    # For exchange = "snap"; the client secret is \(GoPayPartner.clientSecret),
    # and the private key is privateKey in GET \(base)/_control\(Self.path)/key
    # private_key_credential = "gopay-private-key"
    # client_secret_credential = "gopay-client-secret"
    # channel_id = "\(GoPayPartner.channelID)"

    # To receive verdicts by callback, store the credential \(GoPayPartner.callbackCredential)
    # and POST {"callbackUrl": "http://127.0.0.1:8790/v1/callback/partner"}
    # to /_control/gopay/settings
    # callback_listen = "127.0.0.1:8790"
    # callback_credential = "gopay-callback"
    """
  }
}
