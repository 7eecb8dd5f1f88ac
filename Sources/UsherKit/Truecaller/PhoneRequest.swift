import UsherClient

/// A phone number to verify, and the app that wants it verified.
struct PhoneRequest: Sendable, Equatable {
  var phone: String
  var countryCode: String
  var app: App?

  /// The app key and the app link that the program passed to the SDK.
  struct App: Sendable, Equatable {
    var key: Secret
    var link: String
  }

  var params: JSONValue {
    .params([
      "phoneNumber": .string(phone), "countryCode": .string(countryCode),
      "appKey": .text(app?.key.revealed()), "appLink": .text(app?.link),
    ])
  }
}
