import JSONRPC
package import UsherAPI

// What the parameters and the result of the flow mean, for the OpenRPC document.

extension BSAAuthenticate.Params: SchemaDocumented {
  package static var memberDescriptions: [String: String] {
    [
      "account": "The registered account; default: the caller's only account.",
      "by": """
      The way of the sign-in: `push` (a site requests it), `qr` (a site shows a QR code), `otp` \
      (the user types a number from the provider at a site) or `totp` (the user types a code of \
      the account's authenticator secret at a site). Default: `push`.
      """,
      "qrId": "The content of the QR code that the user scanned; if absent, the flow asks for it.",
      "clientKey": """
      The client key that an app's SDK was configured with; must equal the configured one.
      """,
    ]
  }
}

extension BSAAuthenticate {
  package static var resultMembers: [Schema.Member] {
    [
      .account
    ]
  }

  package static var example: FlowExample {
    .init(["by": "qr", "qrId": "qr-1"], result: ["account": "acc_1"])
  }
}
