/// The texts of SMS, e-mails and push notifications to a customer.
///
/// They are German for `de` and English for all other languages.
struct ScaTexts: Sendable {
  private let isGerman: Bool

  init(language: String?) {
    isGerman = language?.lowercased().split(separator: "-").first == "de"
  }

  var subject: String { isGerman ? "Ihr Sicherheitscode" : "Your security code" }

  /// - Parameter summary: The operation to approve. It names amount and payee, which the customer
  ///   must see (Delegated Regulation (EU) 2018/389, article 5).
  func code(_ code: String, for summary: String?) -> String {
    let purpose = summary.map { ": \($0)" } ?? ""
    return isGerman
      ? "Ihr Code lautet \(code)\(purpose). Geben Sie ihn an niemanden weiter."
      : "Your code is \(code)\(purpose). Do not share it with anyone."
  }

  func push(_ page: String, for summary: String?) -> String {
    let purpose = summary.map { ": \($0)" } ?? ""
    return isGerman ? "Bitte bestätigen\(purpose). \(page)" : "Please approve\(purpose). \(page)"
  }
}
